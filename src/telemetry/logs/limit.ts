/**
 * Limits repeated lines: one per cause and interval, then one that stands for those that were left out. Each
 * cause has its own interval, so that a new problem is visible immediately. Lines of a cause in an interval
 * are not stored: only the latest and their number.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

/** More causes in an interval share one line, so that memory and the number of lines stay bounded. */
export const MAX_CAUSES = 200

const OTHER = 'other'

interface Cause<Line> {
	/** The time on the runtime's monotonic clock. */
	endsAt: number
	suppressed: number
	/** The latest line that was left out. */
	latest: Line | undefined
}

export class LineLimit<Line> {
	readonly #runtime: Runtime
	readonly #intervalMs: number
	readonly #write: (line: Line, suppressed: number) => void
	/** The causes are in the order in which their intervals end, which is the order in which they started. */
	readonly #causes = new Map<string, Cause<Line>>()
	#timer: CancelTimer | undefined

	/** `write` must not throw. `suppressed`: how many further lines the line stands for. */
	constructor(runtime: Runtime, intervalMs: number, write: (line: Line, suppressed: number) => void) {
		this.#runtime = runtime
		this.#intervalMs = intervalMs
		this.#write = write
	}

	add(cause: string, line: Line): void {
		if (this.#intervalMs === 0) {
			this.#write(line, 0)
			return
		}
		const now = this.#runtime.now()
		this.#endIntervals(now)
		const isKnown = this.#causes.has(cause) || this.#causes.size < MAX_CAUSES
		const name = isKnown ? cause : OTHER
		const known = this.#causes.get(name)
		if (known) {
			known.suppressed++
			known.latest = line
			this.#setTimer(now)
			return
		}
		// The interval starts before the write: a logger whose transport is observed must not start a loop.
		this.#start(name, now)
		this.#write(line, 0)
	}

	/** Writes what was left out, and cancels the timer. */
	flush(): void {
		this.#timer?.()
		this.#timer = undefined
		this.#endIntervals(Infinity)
	}

	#start(name: string, now: number): void {
		this.#causes.set(name, { endsAt: now + this.#intervalMs, suppressed: 0, latest: undefined })
	}

	#endIntervals(now: number): void {
		for (const [name, { endsAt, suppressed, latest }] of this.#causes) {
			if (endsAt > now) break
			this.#causes.delete(name)
			if (suppressed === 0) continue
			if (now < Infinity) this.#start(name, now)
			this.#write(latest as Line, suppressed)
		}
	}

	/** Called only while lines are left out: the end of an interval without such lines has no effect. */
	#setTimer(now: number): void {
		if (this.#timer) return
		const [first] = this.#causes.values()
		if (!first) return
		const fire = () => {
			this.#timer = undefined
			const at = this.#runtime.now()
			this.#endIntervals(at)
			if ([...this.#causes.values()].some(({ suppressed }) => suppressed > 0)) this.#setTimer(at)
		}
		this.#timer = this.#runtime.setTimer(Math.max(0, first.endsAt - now), fire, 'housekeeping')
	}
}
