/** Runs work in the group's transactions, each with one time of the database's clock. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { GroupCommit, type Work } from '../group-commit.ts'
import type { SqliteConnection } from '../sqlite-connection.ts'
import type { SqliteClock } from './sqlite-clock.ts'

export class TimedTransactions {
	readonly #connection: SqliteConnection
	readonly #clock: SqliteClock | undefined
	readonly #group: GroupCommit

	/** `clock` is missing if the connection has a clock of its own. */
	constructor(connection: SqliteConnection, runtime: Runtime, clock?: SqliteClock) {
		this.#connection = connection
		this.#clock = clock
		this.#group = new GroupCommit(connection, runtime)
	}

	async run<T>(mode: 'read' | 'write', work: Work<T>): Promise<T> {
		if (!this.#clock) return this.#group[mode](work)
		const clock = this.#clock
		const { result, onCommit } = await this.#group[mode]((isSolo) =>
			clock.during(this.#connection, mode === 'write', () => work(isSolo)),
		)
		onCommit()
		return result
	}

	/** Resolves when no work is left. */
	idle(): Promise<void> {
		return this.#group.idle()
	}
}
