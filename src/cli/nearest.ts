/**
 * The name that was probably meant. Typing errors are a letter too many, one too few, a wrong one, or two that changed
 * places; each counts one, and a name that is further away than a third of its letters is not offered: a wrong suggestion
 * costs more than none.
 */

/** The candidate that is nearest to the word, if one is near; of equals the first. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined
	let least = Infinity
	for (const candidate of candidates) {
		const away = distance(word.toLowerCase(), candidate.toLowerCase())
		if (away < least && away <= farthest(candidate)) [best, least] = [candidate, away]
	}
	return best
}

const farthest = (candidate: string): number => Math.max(1, Math.floor(candidate.length / 3))

/** `; did you mean --seed?`, or nothing: the end of a sentence about a name that is unknown. */
export function didYouMean(name: string | undefined): string {
	return name === undefined ? '' : `; did you mean ${name}?`
}

/** How many typing errors lie between two words. Three rows of the table are enough, for a swap looks back two. */
export function distance(a: string, b: string): number {
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
