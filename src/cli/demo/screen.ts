/**
 * The counts while they change: a block that is drawn over itself where somebody watches, and else a line a second, which reads well
 * in a log. It goes where talk goes, so that standard output holds the ledger and nothing else.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { formatNumber } from '../../text/format.ts'
import { wrap } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'
import type { Receiver } from './receiver.ts'
import type { RelayProcess } from './relay-process.ts'

/** What is looked at. */
export interface Scene {
	readonly committed: number
	readonly rolledBack: number
	readonly receiver: Receiver
	readonly relays: readonly RelayProcess[]
	/** What is going on, in a few words. */
	readonly doing: string
}

const REDRAW_MS = 100
const LINE_EACH_MS = 1000

export class Screen {
	readonly #io: Pick<CommandIo, 'note' | 'style' | 'columns'>
	readonly #runtime: Runtime
	readonly #isWatched: boolean
	readonly #startedAt: number
	#height = 0
	#cancel = () => {}

	constructor(io: Pick<CommandIo, 'note' | 'style' | 'columns' | 'runtime'>, isWatched: boolean) {
		this.#io = io
		this.#runtime = io.runtime
		this.#isWatched = isWatched
		this.#startedAt = io.runtime.now()
	}

	/** Shows what `look` sees, again and again, until `end`. */
	follow(look: () => Scene): void {
		const step = () => {
			this.#show(look())
			this.#cancel = this.#runtime.setTimer(this.#isWatched ? REDRAW_MS : LINE_EACH_MS, step)
		}
		step()
	}

	/** A line that stays. */
	say(text: string): void {
		this.#io.note(`${this.#erase()}${this.#clock()}  ${text}`)
		this.#height = 0
	}

	/** Somebody else has written to the screen: what is drawn next must not be drawn over it. */
	forget(): void {
		this.#height = 0
	}

	end(): void {
		this.#cancel()
		if (this.#isWatched && this.#height > 0) this.#io.note(this.#erase().trimEnd())
		this.#height = 0
	}

	#show(scene: Scene): void {
		if (!this.#isWatched) {
			this.#io.note(`${this.#clock()}  ${lineOf(scene)}`)
			return
		}
		const lines = this.#block(scene).map((line) => line.slice(0, this.#widest))
		const [head = '', ...rest] = lines
		this.#io.note([this.#erase() + this.#io.style.bold(head), ...rest].join('\n'))
		this.#height = lines.length
	}

	/** Up to where the block begins, and away with all below. */
	#erase(): string {
		return this.#isWatched && this.#height > 0 ? `\x1b[${this.#height}A\x1b[J` : ''
	}

	#clock(): string {
		const seconds = (this.#runtime.now() - this.#startedAt) / 1000
		return `${seconds.toFixed(1).padStart(5)} s`
	}

	/** A line as wide as the window would wrap, and what wraps can not be drawn over. */
	get #widest(): number {
		return this.#io.columns - 1
	}

	#block(scene: Scene): readonly string[] {
		const { receiver, relays, doing } = scene
		const texts = [
			countsOf(scene),
			`receiver: ${faultsOf(receiver)}; duplicates refused ${formatNumber(receiver.refused)}`,
			...relays.map(relayText),
			doing,
		]
		const clock = `${this.#clock()}  `
		return texts
			.flatMap((text) => wrap(text, this.#widest - clock.length))
			.map((line, index) => (index === 0 ? clock : ' '.repeat(clock.length)) + line)
	}
}

const countsOf = ({ committed, receiver }: Scene): string =>
	`committed ${formatNumber(committed)}, received ${formatNumber(receiver.orders.size)}, ` +
	`under way ${formatNumber(Math.max(0, committed - receiver.orders.size))}`

const faultsOf = ({ faults, isDown }: Receiver): string =>
	`500s ${formatNumber(faults.serverErrors)}, 429s ${formatNumber(faults.tooMany)}, hung ${formatNumber(faults.hung)}, ` +
	`in the outage ${formatNumber(faults.outage)}${isDown ? ' (down now)' : ''}`

function relayText({ name, state, counts }: RelayProcess): string {
	const gate = state === 'running' && counts.gate !== 'closed' ? `, breaker ${counts.gate}` : ''
	return `${name} ${state}: sent ${formatNumber(counts.sent)}, failed ${formatNumber(counts.failed)}${gate}`
}

const lineOf = (scene: Scene): string =>
	`${countsOf(scene)}; ${faultsOf(scene.receiver)}; duplicates refused ${formatNumber(scene.receiver.refused)}`
