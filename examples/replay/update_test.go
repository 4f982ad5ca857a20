package main

import "flag"

// update has the tests write the sample, the page's outputs and its pictures, in place of comparing.
var update = flag.Bool("update", false, "write what is compared") //nolint:gochecknoglobals // a flag
