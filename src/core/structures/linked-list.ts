/**
 * An intrusive doubly linked list. Queued objects exist for their call anyway, so inserting allocates nothing, and removing
 * one from the middle, as every abort does, is O(1). (An array needs a search; a Set leaves a hole for each removed entry,
 * which rehashing pays for later.)
 */
export interface Link<L> {
	before: L | undefined
	after: L | undefined
}

export class LinkedList<L extends Link<L>> {
	first: L | undefined
	last: L | undefined

	/** Inserts `link` after `before`, or at the front without one. */
	insert(link: L, before: L | undefined): void {
		const after = before ? before.after : this.first
		link.before = before
		link.after = after
		if (before) before.after = link
		else this.first = link
		if (after) after.before = link
		else this.last = link
	}

	/** Removes `link`, which must be in this list. */
	remove(link: L): void {
		const { before, after } = link
		if (before) before.after = after
		else this.first = after
		if (after) after.before = before
		else this.last = before
		// A removed link must not keep its former neighbors alive.
		link.before = link.after = undefined
	}
}
