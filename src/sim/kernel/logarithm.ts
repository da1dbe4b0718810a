/**
 * The logarithm and its inverse by nothing but additions, multiplications and divisions, whose every bit is laid down by the
 * standard. `Math.log` and `Math.exp` are not: two versions of V8 differ in their last bits, and one bit of one draw makes it another
 * run. A page and a server would tell different stories from the same seed.
 */

/** ln 2 in two parts; the first has so few digits that whole multiples of it are exact. */
const LN2 = 0.6931471803691238
const LN2_REST = 1.9082149292705877e-10

/** The natural logarithm, to within two units of the last place. */
export function logarithm(x: number): number {
	// Zero, less, and what is no number, of which there is only one answer.
	if (!(x > 0 && x < Infinity)) return Math.log(x)
	// 2^exponent times a part between sqrt(1/2) and sqrt(2). What is drawn lies near 1, so that this is mostly one step or none.
	let part = x
	let exponent = 0
	for (; part < Math.SQRT1_2; exponent--) part *= 2
	for (; part > Math.SQRT2; exponent++) part /= 2
	// ln(part) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), where s is at most 0.172. Every other term, so that two sums grow side by side.
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

/** e to the power of x, to within two units of the last place. */
export function powerOfE(x: number): number {
	// Beyond, there is no such number, or it is zero.
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
