package client_test

import _ "github.com/confetti-dp/confetti/question/all"
