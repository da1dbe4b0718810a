/**
 * Which dead letters are meant, read with more suspicion where they are moved or taken away: a filter whose only value came out
 * undefined is the classic way to empty a table.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { type MessageFilter, toFilter } from '../message/filter.ts'
import type { StoreFilter } from '../store/store.ts'

/** A filter of dead letters. That they are dead is said by whom it is asked, so a status is dropped here. */
export function selectDead(given: MessageFilter): StoreFilter {
	const { status, ...filter } = toFilter(given)
	if (status !== undefined && status !== 'dead')
		invalidOption('filter.status', status, "'dead' or nothing here, for these are dead letters")
	return filter
}

/** The same where something is done to all that match: it must say something, or `all` must. */
export function selectOnPurpose(doing: string, given: MessageFilter, all: boolean | undefined): StoreFilter {
	if (all !== undefined && typeof all !== 'boolean') invalidOption('all', all, 'true or false')
	const filter = selectDead(given)
	if (!all && Object.keys(filter).length === 0)
		invalidOption('filter', '{}', `at least one condition; to ${doing} every dead letter say { all: true }`)
	return filter
}
