package learn

// Result is what came of a setting.
type Result struct {
	Setting
	Dimension   int `json:"dimension"` // of the features
	Respondents int `json:"respondents"`
	*Accuracies
	*Fits
	*Ranks
	Epsilon            float64 `json:"epsilon"`
	Adjacency          string  `json:"adjacency"` // of a whole record, its label inside
	Trust              string  `json:"trust"`
	Method             string  `json:"method"`
	BitsPerDevice      int     `json:"bits_per_device,omitempty"`      // none of a vector whose length is proved
	EnvelopesPerDevice int     `json:"envelopes_per_device,omitempty"` // none in a sum
	NumbersProved      int     `json:"numbers_proved,omitempty"`       // of a vector whose length is proved, in each round
	// NoiseRatio is the error of the sums over what the mechanism's formula has
	// (vector.Spec.Deviation), its clip term included.
	NoiseRatio float64 `json:"noise_ratio"`
	Seconds    float64 `json:"seconds"`
}

// Accuracies are of classifiers on test records.
type Accuracies struct {
	Accuracy  float64    `json:"accuracy"`
	Interval  [2]float64 `json:"accuracy_interval"` // of 95 %, over test records
	NoPrivacy float64    `json:"accuracy_no_privacy"`
	Central   float64    `json:"accuracy_central"`
	Wrong     []float64  `json:"wrong_by_class"`
}

// Fits are of regressions: the share of the variance explained.
type Fits struct {
	R2        float64 `json:"r2"`
	NoPrivacy float64 `json:"r2_no_privacy"`
	Central   float64 `json:"r2_central"`
	Coverage  float64 `json:"interval_coverage"` // of prediction intervals of 95 %
}

// Ranks are of rankings of two classes: the chance that one of either is ranked right.
type Ranks struct {
	AUC       float64 `json:"auc"`
	NoPrivacy float64 `json:"auc_no_privacy"`
	Central   float64 `json:"auc_central"`
}

func (r *Result) scores(m metric, drawn, exact, central score) {
	switch m {
	case accuracy:
		low, high := drawn.interval()
		r.Accuracies = &Accuracies{Accuracy: drawn.value, Interval: [2]float64{low, high}, NoPrivacy: exact.value, Central: central.value, Wrong: drawn.wrong}
	case r2:
		r.Fits = &Fits{drawn.value, exact.value, central.value, drawn.coverage}
	case auc:
		r.Ranks = &Ranks{drawn.value, exact.value, central.value}
	}
}
