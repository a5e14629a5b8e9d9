package release

// ModelFile is the name of the model that was learned, beside a release.
const ModelFile = "model.nn"
