package lab

// tuned holds, by rival and rate, the setting of its one number that leaves one hitch a minute on
// average over the seven profiles, or the fewest where none does. `meanwhile lab tradeoff --rate
// 10` (20, 60) finds them.
var tuned = map[string]map[int]float64{
	"fixed":             {10: 362.9, 20: 342, 60: 372.8},
	"intervals":         {10: 3.63, 20: 6.842, 60: 22.37},
	"mirror":            {10: 1.393, 20: 3.277, 60: 12.42},
	"lightyear":         {10: 13.46, 20: 38.71, 60: 51.14},
	"ramjee-4":          {10: 40, 20: 40, 60: 40},
	"moon":              {10: 2.226, 20: 2.61, 60: 2.707},
	"neteq":             {10: 1.706, 20: 1.896, 60: 1.74},
	"kansal-karandikar": {10: 31.29, 20: 40, 60: 40},
	"ryzom":             {10: 162.9, 20: 242.1, 60: 339.5},
}
