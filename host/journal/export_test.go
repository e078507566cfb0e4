package journal

var FormOf = formOf
