/** Messages as tests of stores write them. */
import type { NewRow } from '../../../src/outbox/store/rows.ts'

let made = 0

/** Returns a row with a unique, ascending id. */
export const newRow = (part: Partial<NewRow> = {}): NewRow => ({
	id: `01890a5d-ac96-7000-8000-${(++made).toString(16).padStart(12, '0')}`,
	topic: 'order.created',
	destination: 'a',
	key: null,
	payload: '{"n":1}',
	headers: null,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
	...part,
})

export const newRows = (count: number, part: Partial<NewRow> = {}): NewRow[] =>
	Array.from({ length: count }, () => newRow(part))
