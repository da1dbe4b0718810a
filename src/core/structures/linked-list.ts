/**
 * An intrusive doubly linked list. Queued objects exist for their call anyway, so inserting allocates
 * nothing, and removing one from the middle, as every abort does, is O(1). (An array needs a search; a Set
 * leaves a hole for each removed entry, which rehashing pays for later.)
 */
export interface Link<L> {
	previous: L | undefined
	following: L | undefined
}

export class LinkedList<L extends Link<L>> {
	first: L | undefined
	last: L | undefined

	/** Inserts `link` after `previous`, or at the front without one. */
	insert(link: L, previous: L | undefined): void {
		const following = previous ? previous.following : this.first
		link.previous = previous
		link.following = following
		if (previous) previous.following = link
		else this.first = link
		if (following) following.previous = link
		else this.last = link
	}

	/** Removes `link`, which must be in this list. */
	remove(link: L): void {
		const { previous, following } = link
		if (previous) previous.following = following
		else this.first = following
		if (following) following.previous = previous
		else this.last = previous
		// A removed link must not keep its former neighbors alive.
		link.previous = link.following = undefined
	}
}
