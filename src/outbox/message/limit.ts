/** The number of results that one call returns. */
import { invalidOption } from '../../core/options/schema.ts'

export const PAGE_SIZE = 100

export function checkLimit(limit: unknown): void {
	if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1)
		invalidOption('limit', limit, 'a positive integer')
}
