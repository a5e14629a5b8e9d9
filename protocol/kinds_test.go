package protocol_test

import _ "github.com/confetti-dp/confetti/question/all"
