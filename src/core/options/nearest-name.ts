/**
 * The name that a misspelled word probably means. A missing, extra or wrong letter and two swapped letters count as one error
 * each. A name with more errors than a third of its letters is not suggested: a wrong suggestion costs more than none.
 *
 * The letters are matched in order, and may skip one letter of the name. The exact edit distance would be twice the code, and
 * differs only if a typo repeats a letter that is near.
 */

/** Returns the candidate nearest to the word, the first among equals, or undefined if none is near. */
export function nearestName(word: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined
	let leastErrors = Infinity
	for (const candidate of candidates) {
		const errors = countErrors(word.toLowerCase(), candidate.toLowerCase())
		if (errors < leastErrors && errors <= Math.max(1, Math.floor(candidate.length / 3)))
			[best, leastErrors] = [candidate, errors]
	}
	return best
}

function countErrors(word: string, name: string): number {
	let [next, matched] = [0, 0]
	for (const letter of word) {
		const at = name.slice(next, next + 2).indexOf(letter)
		if (at < 0) continue
		next += at + 1
		matched++
	}
	return Math.max(word.length, name.length) - matched
}
