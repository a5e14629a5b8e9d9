module github.com/confetti-dp/confetti

go 1.26
