package parts

var Parse = parse
