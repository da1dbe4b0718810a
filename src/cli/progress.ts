/**
 * Progress on standard error: a bar on a terminal, otherwise at most ten lines, so that logs stay short. The
 * bar is redrawn at most ten times a second, so reporting progress is cheap however often a command does it.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { OutputStream } from './terminal.ts'

export interface Progress {
	/** Reports how much of the total is done. */
	update(done: number): void
	end(): void
	/** Erases the display so that a line can be printed. */
	hide(): void
}

export const NO_PROGRESS: Progress = { update: () => {}, end: () => {}, hide: () => {} }

/** Returns the share that is done, 0 to 1; 1 for an empty task. */
const shareDone = (done: number, total: number): number =>
	total > 0 ? Math.min(1, Math.max(0, done / total)) : 1

/** Prints a line for each tenth of the task. */
export function progressLines(stream: OutputStream, label: string, total: number): Progress {
	let printedTenths = 0
	return {
		...NO_PROGRESS,
		update(done) {
			const tenths = Math.floor(shareDone(done, total) * 10)
			if (tenths <= printedTenths) return
			printedTenths = tenths
			stream.write(`${label}: ${tenths * 10} %\n`)
		},
	}
}

const REDRAW_MS = 100
const BAR_CELLS = 24
/** Earlier estimates of the remaining time are too inaccurate. */
const ESTIMATE_AFTER_MS = 1000
/** Moves to the start of the line and clears it. */
const ERASE = '\r\x1b[K'

/** Draws a bar over itself, and erases it at the end. */
export function progressBar(stream: OutputStream, runtime: Runtime, label: string, total: number): Progress {
	const startedAt = runtime.now()
	let drawnAt = -Infinity
	let isVisible = false
	let hasEnded = false
	const hide = () => {
		if (isVisible) stream.write(ERASE)
		isVisible = false
		drawnAt = -Infinity
	}
	return {
		hide,
		update(done) {
			const now = runtime.now()
			if (hasEnded || now - drawnAt < REDRAW_MS) return
			drawnAt = now
			isVisible = true
			stream.write(ERASE + barLine(label, shareDone(done, total), now - startedAt, stream.columns))
		},
		end() {
			hasEnded = true
			hide()
		},
	}
}

function barLine(label: string, share: number, elapsedMs: number, columns: number): string {
	const secondsLeft = Math.ceil((elapsedMs * (1 - share)) / share / 1000)
	const hasEstimate = share > 0 && share < 1 && elapsedMs >= ESTIMATE_AFTER_MS
	const percent = `${Math.floor(share * 100)} %${hasEstimate ? `, ${secondsLeft} s left` : ''}`
	const filled = Math.floor(share * BAR_CELLS)
	const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled)
	const line = `${label} ${bar} ${percent}`
	// A line that fills its row wraps, and a wrapped line cannot be erased.
	return line.length < columns ? line : `${label} ${percent}`.slice(0, columns - 1)
}
