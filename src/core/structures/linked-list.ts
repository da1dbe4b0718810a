/**
 * A line of objects that know their neighbours. Who waits in it is made for its call anyway, so joining allocates nothing,
 * and leaving from the middle, as every abort does, costs the same in a line of ten thousand as in one of two. (In an array
 * it is a search; in a Set each passing through leaves a hole behind, and holes are paid for by rehashing.)
 */
export interface Link<L> {
	before: L | undefined
	after: L | undefined
}

export class LinkedList<L extends Link<L>> {
	first: L | undefined
	last: L | undefined

	/** Puts `link` right behind `before`; without one, at the front. */
	insert(link: L, before: L | undefined): void {
		const after = before ? before.after : this.first
		link.before = before
		link.after = after
		if (before) before.after = link
		else this.first = link
		if (after) after.before = link
		else this.last = link
	}

	/** Takes out `link`, which must be in this chain. */
	remove(link: L): void {
		const { before, after } = link
		if (before) before.after = after
		else this.first = after
		if (after) after.before = before
		else this.last = before
		// Who has left and lives on must not keep alive all that once stood beside it.
		link.before = link.after = undefined
	}
}
