/**
 * How far the work has come, told on standard error: a bar where somebody watches, and else a few lines that do not drown a
 * log. A bar is drawn at most ten times a second, by the clock that was handed in, so that telling costs nothing however often a
 * command reports.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { Outlet } from './terminal.ts'

/**
 * Tells how far a piece of work has come.
 *
 * @example
 * const progress = io.progress('simulating', seeds.length)
 * for (const [done, seed] of seeds.entries()) {
 * 	progress.at(done)
 * 	await run(seed)
 * }
 * progress.end()
 */
export interface Progress {
	/** So much of the total is done. */
	at(done: number): void
	/** Nothing more will be told. */
	end(): void
}

/** A progress that can be taken off the screen, so that a line can be written there. */
export interface Meter extends Progress {
	hide(): void
}

/** With `--quiet` there is none. */
export const SILENT: Meter = { at: () => {}, end: () => {}, hide: () => {} }

/** How much of it is done, from 0 to 1; of nothing, everything is. */
function share(done: number, total: number): number {
	return total > 0 ? Math.min(1, Math.max(0, done / total)) : 1
}

/** A line for every tenth of the work. */
export class ProgressLines implements Meter {
	readonly #outlet: Outlet
	readonly #label: string
	readonly #total: number
	#tenths = 0

	constructor(outlet: Outlet, label: string, total: number) {
		this.#outlet = outlet
		this.#label = label
		this.#total = total
	}

	at(done: number): void {
		const tenths = Math.floor(share(done, this.#total) * 10)
		if (tenths <= this.#tenths) return
		this.#tenths = tenths
		this.#outlet.write(`${this.#label}: ${tenths * 10} %\n`)
	}

	end(): void {}
	hide(): void {}
}

const REDRAW_MS = 100
const BAR_CELLS = 24
/** Before that a guess at the rest is worth nothing. */
const GUESS_AFTER_MS = 1000
/** Back to the start of the line, and clear it. */
const ERASE = '\r\x1b[K'

/** A bar that is drawn over itself, and gone at the end. */
export class ProgressBar implements Meter {
	readonly #outlet: Outlet
	readonly #runtime: Runtime
	readonly #label: string
	readonly #total: number
	readonly #startedAt: number
	#drawnAt = -Infinity
	#isShown = false
	#isOver = false

	constructor(outlet: Outlet, runtime: Runtime, label: string, total: number) {
		this.#outlet = outlet
		this.#runtime = runtime
		this.#label = label
		this.#total = total
		this.#startedAt = runtime.now()
	}

	at(done: number): void {
		const now = this.#runtime.now()
		if (this.#isOver || now - this.#drawnAt < REDRAW_MS) return
		this.#drawnAt = now
		this.#isShown = true
		this.#outlet.write(ERASE + this.#line(share(done, this.#total), now - this.#startedAt))
	}

	end(): void {
		this.#isOver = true
		this.hide()
	}

	hide(): void {
		if (this.#isShown) this.#outlet.write(ERASE)
		this.#isShown = false
		this.#drawnAt = -Infinity
	}

	#line(part: number, elapsedMs: number): string {
		const { columns } = this.#outlet
		const left = Math.ceil((elapsedMs * (1 - part)) / part / 1000)
		const isGuess = part > 0 && part < 1 && elapsedMs >= GUESS_AFTER_MS
		const end = `${Math.floor(part * 100)} %${isGuess ? `, ${left} s left` : ''}`
		const filled = Math.floor(part * BAR_CELLS)
		const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled)
		const line = `${this.#label} ${bar} ${end}`
		// A line that wraps can not be drawn over, nor can one that fills its row.
		return line.length < columns ? line : `${this.#label} ${end}`.slice(0, columns - 1)
	}
}
