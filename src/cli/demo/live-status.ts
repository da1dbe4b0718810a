/**
 * The counts while the demo runs: a block that is redrawn on a terminal, otherwise a line per second, which
 * suits a log. It goes to standard error, so standard output contains only the ledger.
 */
import { formatNumber } from '../../text/format.ts'
import { wrap } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'
import { every } from '../relay/summary.ts'
import { formatFaults, type Receiver } from './receiver.ts'
import type { RelayProcess } from './relay-process.ts'

export interface DemoStatus {
	readonly committed: number
	readonly receiver: Receiver
	readonly relays: readonly RelayProcess[]
	/** The current part of the demo, in a few words. */
	readonly phase: string
}

const REDRAW_MS = 100
const LINE_INTERVAL_MS = 1000

export class LiveStatus {
	readonly #io: Pick<CommandIo, 'note' | 'style' | 'columns' | 'runtime'>
	readonly #canRedraw: boolean
	readonly #startedAt: number
	/** Lines of the block on the screen. */
	#height = 0
	#cancel = () => {}

	constructor(io: Pick<CommandIo, 'note' | 'style' | 'columns' | 'runtime'>, canRedraw: boolean) {
		this.#io = io
		this.#canRedraw = canRedraw
		this.#startedAt = io.runtime.now()
	}

	follow(readStatus: () => DemoStatus): void {
		const show = () => (this.#canRedraw ? this.#draw(readStatus()) : this.#log(readStatus()))
		show()
		this.#cancel = every(this.#io.runtime, this.#canRedraw ? REDRAW_MS : LINE_INTERVAL_MS, show)
	}

	/** Prints a line that stays. */
	print(text: string): void {
		this.#io.note(this.#erase() + this.#clock() + text)
	}

	/** Must be called after another part wrote to the screen, so that its lines are not overwritten. */
	forget(): void {
		this.#height = 0
	}

	end(): void {
		this.#cancel()
		if (this.#height > 0) this.#io.note(this.#erase())
	}

	#log(status: DemoStatus): void {
		this.print([orderCounts(status), ...receiverCounts(status)].join('; '))
	}

	#draw(status: DemoStatus): void {
		const { columns, style, note } = this.#io
		const clock = this.#clock()
		// A line as wide as the terminal wraps, and wrapped lines cannot be erased.
		const width = columns - 1
		const [head = '', ...rest] = [
			orderCounts(status),
			`receiver: ${receiverCounts(status).join('; ')}`,
			...status.relays.map(relayCounts),
			status.phase,
		]
			.flatMap((text) => wrap(text, width - clock.length))
			.map((line, index) => ((index === 0 ? clock : ' '.repeat(clock.length)) + line).slice(0, width))
		note([this.#erase() + style.bold(head), ...rest].join('\n'))
		this.#height = rest.length + 1
	}

	/** Returns the code that moves up to the first line of the block and clears the screen below. */
	#erase(): string {
		const height = this.#height
		this.#height = 0
		return height > 0 ? `\x1b[${height}A\x1b[J` : ''
	}

	#clock(): string {
		const seconds = (this.#io.runtime.now() - this.#startedAt) / 1000
		return `${seconds.toFixed(1).padStart(5)} s  `
	}
}

function orderCounts({ committed, receiver }: DemoStatus): string {
	const received = receiver.orders.size
	const pending = Math.max(0, committed - received)
	return `committed ${formatNumber(committed)}, received ${formatNumber(received)}, pending ${formatNumber(pending)}`
}

function receiverCounts({ receiver: { faults, isDown, duplicates } }: DemoStatus): readonly string[] {
	const down = isDown ? ' (down now)' : ''
	return [formatFaults(faults) + down, `duplicates rejected ${formatNumber(duplicates)}`]
}

function relayCounts({ name, state, counts }: RelayProcess): string {
	const circuit = state === 'running' && counts.circuit !== 'closed' ? `, circuit ${counts.circuit}` : ''
	return `${name} ${state}: sent ${formatNumber(counts.sent)}, failed ${formatNumber(counts.failed)}${circuit}`
}
