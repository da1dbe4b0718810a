/** The marks that were written in this turn of the event loop. No other caller has run since, so the caller of a repeated message wrote them. */
import type { SqliteClient } from '../../../../sql/clients.ts'
import type { MarkKey } from '../store.ts'

export class TurnMarks {
	readonly #keys = new WeakMap<SqliteClient, Set<string>>()

	has(tx: SqliteClient, key: MarkKey): boolean {
		return this.#keys.get(tx)?.has(textOf(key)) === true
	}

	add(tx: SqliteClient, key: MarkKey): void {
		const known = this.#keys.get(tx)
		if (known) {
			known.add(textOf(key))
			return
		}
		this.#keys.set(tx, new Set([textOf(key)]))
		queueMicrotask(() => this.#keys.delete(tx))
	}
}

/** Neither part contains a NUL character. */
const textOf = ({ inbox, messageId }: MarkKey): string => `${inbox}\0${messageId}`
