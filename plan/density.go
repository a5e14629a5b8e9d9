package plan

// Density asks for one kernel density per class (KDE, section 3.3).
type Density struct {
	Dimension   int    `json:"dimension"`            // length of a respondent's feature vector
	Normalize   bool   `json:"normalize"`            // scale vectors to unit length on the device
	Vocabulary  string `json:"vocabulary,omitempty"` // reference to the public terms used to decode a class
	Kernel      Kernel `json:"kernel"`
	Repetitions int    `json:"repetitions"` // I of KDE, Algorithm 1: independent feature maps
	Bitsum      Bitsum `json:"bitsum"`
}

// Kernel names a kernel with its family of feature maps (KDE, Definition 2.1).
type Kernel struct {
	Name       string  `json:"name"`                 // of those in kernelmap.Kernels
	Bandwidth  float64 `json:"bandwidth,omitempty"`  // h, in units of distance; kernels of a distance only
	Clip       float64 `json:"clip,omitempty"`       // in standard deviations of a rotated coordinate; ip-rotated only
	Radius     float64 `json:"radius,omitempty"`     // of the ball round zero that holds all vectors; exponential kernels only
	Buckets    int     `json:"buckets,omitempty"`    // that cells are hashed to; laplacian and exponential only
	Projection int     `json:"projection,omitempty"` // m: to how many dimensions vectors are projected first; gaussian-projected only
	Seed       string  `json:"seed"`                 // 64 hex digits: public randomness of the feature maps
}

// Bitsum names the protocol that adds up one bit per device and channel, with
// its noise. Only the fields of the named protocol are set.
type Bitsum struct {
	Name       string `json:"name"`       // "rr", "3nb", "pure", "poisson", "nb"
	Accounting string `json:"accounting"` // "exact", "paper": where the noise parameters come from

	FlipProbability float64 `json:"flip_probability,omitempty"` // rr: in [0, 1/2)

	Noise            float64 `json:"noise,omitempty"`             // 3nb: e1, z1 and z2 ~ NB(1/n, exp(-e1))
	FloodShape       float64 `json:"flood_shape,omitempty"`       // 3nb: r, z3 ~ NB(r/n, p3)
	FloodProbability float64 `json:"flood_probability,omitempty"` // 3nb: p3

	ChannelEpsilon float64 `json:"channel_epsilon,omitempty"` // pure: epsilon of one channel
	Theta          float64 `json:"theta,omitempty"`           // pure: what of it the flood has
	Drop           float64 `json:"drop,omitempty"`            // pure: probability that a device leaves its bit out
	Size           int     `json:"size,omitempty"`            // pure: copies a device sends, and the flood's longest burst

	Mean float64 `json:"mean,omitempty"` // poisson: of the noise over all devices

	Shape       float64 `json:"shape,omitempty"`       // nb: of the noise over all devices
	Probability float64 `json:"probability,omitempty"` // nb: p, P(k) = C(k+r-1, k) (1-p)^r p^k
}

// Bitsums are those that a plan may name.
var Bitsums = []string{"rr", "3nb", "pure", "poisson", "nb"}

// Divided says that each respondent adds a part of noise that is whole only in all
// their messages together, not in a share of them.
func (b Bitsum) Divided() bool {
	switch b.Name {
	case "3nb", "nb", "pure":
		return true
	}
	return false
}
