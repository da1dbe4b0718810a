/**
 * Ways to learn of a commit that nobody tells: looking again and again, and ringing on the chance of it. Both soon at first, for most
 * transactions end right after the message was written, then ever more seldom, and not for ever: a relay's own poll is there.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

/** Something that waits for the end of a transaction on behalf of messages. */
export interface Watch {
	/** More was written. */
	add(destinations: ReadonlySet<string>): void
	stop(): void
}

type Tell = (destinations: ReadonlySet<string>) => void

const LONGEST_PAUSE_MS = 100
const GIVE_UP_AFTER_MS = 10_000
/** When it is rung on the chance of a commit, in milliseconds after the write. */
const CHANCES_MS: readonly number[] = [5, 20, 50, 100, 250, 500, 1_000]

/** Timers one after the other; a new message makes them begin anew. */
abstract class BackoffTimer implements Watch {
	protected readonly destinations: Set<string> = new Set()
	readonly #runtime: Runtime
	#cancel: CancelTimer | undefined
	#step = 0
	#isAgain = false

	constructor(runtime: Runtime) {
		this.#runtime = runtime
	}

	add(destinations: ReadonlySet<string>): void {
		for (const destination of destinations) this.destinations.add(destination)
		// The first pause is short: it is let pass and then taken once more, and no timer is made for each message.
		if (this.#cancel !== undefined && this.#step === 0) this.#isAgain = true
		else {
			this.#cancel?.()
			this.#wait(0)
		}
	}

	stop(): void {
		this.#cancel?.()
		this.#cancel = undefined
	}

	/** How long before the step of this number; undefined when there is none. */
	protected abstract pauseMs(step: number): number | undefined
	/** Answers whether that was the end of it. */
	protected abstract take(): boolean
	protected abstract givenUp(): void

	#wait(step: number): void {
		this.#step = step
		const pauseMs = this.pauseMs(step)
		if (pauseMs !== undefined) this.#cancel = this.#runtime.setTimer(pauseMs, this.#fire, 'housekeeping')
		else {
			this.#cancel = undefined
			this.givenUp()
		}
	}

	readonly #fire = (): void => {
		this.#cancel = undefined
		if (this.take()) return
		const isAgain = this.#isAgain
		this.#isAgain = false
		this.#wait(isAgain ? 0 : this.#step + 1)
	}
}

/** Looks whether the transaction has ended. */
export class CommitPoller extends BackoffTimer {
	readonly #hasEnded: () => boolean
	readonly #ended: Tell
	readonly #forget: () => void

	constructor(runtime: Runtime, hasEnded: () => boolean, ended: Tell, forget: () => void) {
		super(runtime)
		this.#hasEnded = hasEnded
		this.#ended = ended
		this.#forget = forget
	}

	protected override pauseMs(step: number): number | undefined {
		// 0, 1, 2, 4 ... 64 come to 127 ms in eight steps.
		if (step > 8 + GIVE_UP_AFTER_MS / LONGEST_PAUSE_MS) return undefined
		return step === 0 ? 0 : Math.min(2 ** (step - 1), LONGEST_PAUSE_MS)
	}

	protected override take(): boolean {
		if (!this.#hasEnded()) return false
		this.#ended(this.destinations)
		return true
	}

	protected override givenUp(): void {
		this.#forget()
	}
}

/** Rings at once, and some more times. One for all transactions of which nothing is known. */
export class BlindNotifier extends BackoffTimer {
	readonly #tell: Tell

	constructor(runtime: Runtime, tell: Tell) {
		super(runtime)
		this.#tell = tell
	}

	override add(destinations: ReadonlySet<string>): void {
		super.add(destinations)
		this.#tell(destinations)
	}

	protected override pauseMs(step: number): number | undefined {
		const at = CHANCES_MS[step]
		return at === undefined ? undefined : at - (CHANCES_MS[step - 1] ?? 0)
	}

	protected override take(): boolean {
		this.#tell(this.destinations)
		return false
	}

	protected override givenUp(): void {
		this.destinations.clear()
	}
}
