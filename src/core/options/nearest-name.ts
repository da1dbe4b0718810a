/**
 * The name that a misspelled word probably means. A missing, extra or wrong letter and two swapped letters
 * count as one error each. A name with more errors than a third of its letters is not suggested: a wrong
 * suggestion costs more than none.
 */

/** Returns the candidate nearest to the word, the first among equals, or undefined if none is near. */
export function nearestName(word: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined
	let leastErrors = Infinity
	for (const candidate of candidates) {
		const errors = editDistance(word.toLowerCase(), candidate.toLowerCase())
		if (errors < leastErrors && errors <= Math.max(1, candidate.length / 3))
			[best, leastErrors] = [candidate, errors]
	}
	return best ?? candidates.find((candidate) => isPartOf(candidate, word) || isPartOf(word, candidate))
}

/** True if `other` has all words of `name`, in order: `retry` and `maxRetries`. */
function isPartOf(name: string, other: string): boolean {
	let rest = wordsOf(other)
	return (
		name.length >= 5 &&
		wordsOf(name).every((word) => {
			const at = rest.findIndex((each) => each.startsWith(word.replace(/y$/, '')))
			rest = rest.slice(at + 1)
			return at >= 0
		})
	)
}

const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())

/** Returns the number of typing errors between two words. A swap looks back two rows of the table. */
export function editDistance(a: string, b: string): number {
	let before: number[] = []
	let above = Array.from({ length: b.length + 1 }, (_, column) => column)
	for (let row = 1; row <= a.length; row++) {
		const current = [row]
		for (let column = 1; column <= b.length; column++) {
			const isSame = a[row - 1] === b[column - 1]
			const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
			current[column] = Math.min(
				at(above, column) + 1,
				at(current, column - 1) + 1,
				at(above, column - 1) + (isSame ? 0 : 1),
				isSwap ? at(before, column - 2) + 1 : Infinity,
			)
		}
		;[before, above] = [above, current]
	}
	return at(above, b.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity
