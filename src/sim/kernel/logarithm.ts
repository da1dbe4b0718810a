/**
 * Logarithm and exponential from additions, multiplications and divisions only, whose results the standard
 * defines to the last bit. `Math.log` and `Math.exp` are not defined that way: two versions of V8 differ in
 * the last bits, and one different bit in one draw changes the whole run. A browser and a server would get
 * different results from the same seed.
 */

/** ln 2 in two parts. The first has few enough digits that integer multiples of it are exact. */
const LN2 = 0.6931471803691238
const LN2_REST = 1.9082149292705877e-10

/** Returns the natural logarithm, accurate to two units in the last place. */
export function logarithm(x: number): number {
	// Zero, negative numbers, NaN and Infinity have exact results.
	if (!(x > 0 && x < Infinity)) return Math.log(x)
	// x = 2^exponent * part, with part between sqrt(1/2) and sqrt(2). Draws lie near 1, so this takes one step
	// or none.
	let part = x
	let exponent = 0
	for (; part < Math.SQRT1_2; exponent--) part *= 2
	for (; part > Math.SQRT2; exponent++) part /= 2
	// ln(part) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), where s is at most 0.172. Odd and even terms are summed
	// separately, which lets the CPU overlap them.
	const s = (part - 1) / (part + 1)
	const s2 = s * s
	const s4 = s2 * s2
	const odd = 2 / 3 + s4 * (2 / 7 + s4 * (2 / 11 + s4 * (2 / 15 + s4 * (2 / 19))))
	const even = 2 / 5 + s4 * (2 / 9 + s4 * (2 / 13 + s4 * (2 / 17 + s4 * (2 / 21))))
	return exponent * LN2 + (2 * s + (s * (s2 * odd + s4 * even) + exponent * LN2_REST))
}

/** 1/13!, 1/12!, ... 1/2!. */
const TERMS: readonly number[] = Array.from({ length: 12 }, (_, index) => {
	let factorial = 1
	for (let factor = 2; factor <= 13 - index; factor++) factorial *= factor
	return 1 / factorial
})

/** Returns e to the power of x, accurate to two units in the last place. */
export function powerOfE(x: number): number {
	// Beyond this range the result overflows or underflows.
	if (!(Math.abs(x) < 700)) return Math.exp(x)
	const exponent = Math.round(x / (LN2 + LN2_REST))
	const rest = x - exponent * LN2 - exponent * LN2_REST
	let sum = 0
	for (const term of TERMS) sum = sum * rest + term
	let power = 1 + (rest + rest * rest * sum)
	for (let times = exponent; times > 0; times--) power *= 2
	for (let times = exponent; times < 0; times++) power /= 2
	return power
}
