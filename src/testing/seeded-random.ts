/**
 * Returns a random number generator, for tests that use random numbers of their own;
 * `virtualRuntime({ seed })` has one. The same seed gives the same numbers on every engine. It is sfc32, a
 * small generator with 128 bits of state that passes the usual test batteries; 53 bits of two draws make one
 * number in [0, 1).
 *
 * @example
 * const random = seededRandom(7)
 * random() === seededRandom(7)() // => true
 */
export function seededRandom(seed: number | string): () => number {
	let [a, b, c, counter] = [...scramble(String(seed)), 1] as [number, number, number, number]
	const next = (): number => {
		const sum = (a + b + counter++) | 0
		a = b ^ (b >>> 9)
		b = (c + (c << 3)) | 0
		c = (((c << 21) | (c >>> 11)) + sum) | 0
		return sum >>> 0
	}
	// The first numbers of similar seeds are similar; a few rounds separate them.
	for (let round = 0; round < 15; round++) next()
	return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53
}

/** Hashes a text to three words. */
function scramble(text: string): [number, number, number] {
	const mix = (start: number): number => {
		let hash = start
		for (let i = 0; i < text.length; i++) {
			hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1)
			hash ^= hash >>> 15
		}
		return hash | 0
	}
	return [mix(0x243f6a88), mix(0x85a308d3 | 0), mix(0x13198a2e)]
}
