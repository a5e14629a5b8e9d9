package ltn

import "math"

// LaplaceBound returns the largest accuracy of telling one of K classes, all as common, from a vector with
// Laplace noise of a local epsilon (LTN, equation 10): each class is a corner of the ball. It bounds
// Laplace mechanisms and no others: a label told by k-ary response puts all of its epsilon into the one
// thing that is asked, and is right more often.
func LaplaceBound(classes int, epsilon float64) float64 {
	half := classes / 2
	sum, choose := -(epsilon+1)/8*float64(classes-2)*math.Exp(-epsilon/2), 1.0
	for j := range half {
		if j != 1 {
			n, sign := float64(j), 1-2*float64(j%2)
			sum += choose * sign / (1 - n) * (math.Exp(-n*epsilon/2)/(1+n) - math.Exp(-epsilon/2)/2)
		}
		choose *= float64(half-1-j) / float64(j+1)
	}
	return sum
}

// AdjacentCorners returns the accuracy of telling two classes on corners of different directions from a vector with Laplace
// noise of a local epsilon (LTN, Figure 6b), where both are as likely and what is as near to both is told by a coin. On
// opposite corners (Figure 6a) it is LaplaceBound of two classes, which is larger by epsilon/8 exp(-epsilon/2).
func AdjacentCorners(epsilon float64) float64 {
	return 1 - math.Exp(-epsilon/2)*(0.5+epsilon/8)
}
