/** The marks that were written in this turn of the event loop. No other caller has run since, so the caller of a repeated message wrote them. */
import type { SqliteClient } from '../../../../sql/clients.ts'

export class TurnMarks {
	readonly #keys = new WeakMap<SqliteClient, Set<string>>()

	has(tx: SqliteClient, key: readonly string[]): boolean {
		return this.#keys.get(tx)?.has(JSON.stringify(key)) === true
	}

	add(tx: SqliteClient, key: readonly string[]): void {
		const known = this.#keys.get(tx)
		if (known) {
			known.add(JSON.stringify(key))
			return
		}
		this.#keys.set(tx, new Set([JSON.stringify(key)]))
		queueMicrotask(() => this.#keys.delete(tx))
	}
}
