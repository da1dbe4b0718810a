/**
 * Progress on standard error: a bar on a terminal, otherwise at most ten lines, so that logs stay short. The bar is redrawn at
 * most ten times a second, so reporting progress is cheap however often a command does it.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { OutputStream } from './terminal.ts'

/**
 * The progress of a task.
 *
 * @example
 * const progress = io.progress('simulating', seeds.length)
 * for (const [done, seed] of seeds.entries()) {
 * 	progress.update(done)
 * 	await run(seed)
 * }
 * progress.end()
 */
export interface Progress {
	/** Reports how much of the total is done. */
	update(done: number): void
	end(): void
}

export interface ProgressDisplay extends Progress {
	/** Erases the display so that a line can be printed. */
	hide(): void
}

/** For `--quiet`. */
export const NO_PROGRESS: ProgressDisplay = { update: () => {}, end: () => {}, hide: () => {} }

/** Returns the share that is done, 0 to 1; 1 for an empty task. */
const shareDone = (done: number, total: number): number =>
	total > 0 ? Math.min(1, Math.max(0, done / total)) : 1

/** Prints a line for each tenth of the task. */
export class ProgressLines implements ProgressDisplay {
	readonly #stream: OutputStream
	readonly #label: string
	readonly #total: number
	#tenths = 0

	constructor(stream: OutputStream, label: string, total: number) {
		this.#stream = stream
		this.#label = label
		this.#total = total
	}

	update(done: number): void {
		const tenths = Math.floor(shareDone(done, this.#total) * 10)
		if (tenths <= this.#tenths) return
		this.#tenths = tenths
		this.#stream.write(`${this.#label}: ${tenths * 10} %\n`)
	}

	end(): void {}
	hide(): void {}
}

const REDRAW_MS = 100
const BAR_CELLS = 24
/** Earlier estimates of the remaining time are too inaccurate. */
const ESTIMATE_AFTER_MS = 1000
/** Moves to the start of the line and clears it. */
const ERASE = '\r\x1b[K'

/** Draws a bar over itself, and erases it at the end. */
export class ProgressBar implements ProgressDisplay {
	readonly #stream: OutputStream
	readonly #runtime: Runtime
	readonly #label: string
	readonly #total: number
	readonly #startedAt: number
	#drawnAt = -Infinity
	#isVisible = false
	#hasEnded = false

	constructor(stream: OutputStream, runtime: Runtime, label: string, total: number) {
		this.#stream = stream
		this.#runtime = runtime
		this.#label = label
		this.#total = total
		this.#startedAt = runtime.now()
	}

	update(done: number): void {
		const now = this.#runtime.now()
		if (this.#hasEnded || now - this.#drawnAt < REDRAW_MS) return
		this.#drawnAt = now
		this.#isVisible = true
		this.#stream.write(ERASE + this.#line(shareDone(done, this.#total), now - this.#startedAt))
	}

	end(): void {
		this.#hasEnded = true
		this.hide()
	}

	hide(): void {
		if (this.#isVisible) this.#stream.write(ERASE)
		this.#isVisible = false
		this.#drawnAt = -Infinity
	}

	#line(share: number, elapsedMs: number): string {
		const { columns } = this.#stream
		const secondsLeft = Math.ceil((elapsedMs * (1 - share)) / share / 1000)
		const hasEstimate = share > 0 && share < 1 && elapsedMs >= ESTIMATE_AFTER_MS
		const percent = `${Math.floor(share * 100)} %${hasEstimate ? `, ${secondsLeft} s left` : ''}`
		const filled = Math.floor(share * BAR_CELLS)
		const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled)
		const line = `${this.#label} ${bar} ${percent}`
		// A line that fills its row wraps, and a wrapped line cannot be erased.
		return line.length < columns ? line : `${this.#label} ${percent}`.slice(0, columns - 1)
	}
}
