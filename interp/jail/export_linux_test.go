package jail

// RunWith is Run on a machine that offers less than this one.
var RunWith = run
