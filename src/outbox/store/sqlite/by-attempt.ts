import type { Held } from '../rows.ts'

/** The ids of each attempt: mostly all are in their first, and one statement does for them. */
export function byAttempt(held: readonly Held[]): ReadonlyMap<number, string[]> {
	const groups = new Map<number, string[]>()
	let attempt: number | undefined
	let ids: string[] = []
	for (const one of held) {
		if (one.attempt !== attempt) {
			attempt = one.attempt
			ids = groups.get(attempt) ?? []
			groups.set(attempt, ids)
		}
		ids.push(one.id)
	}
	return groups
}
