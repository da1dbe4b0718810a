/**
 * Pauses and resumes destinations by hand. The pause is a row of the database, so it survives restarts and
 * every relay obeys it. Relays cannot end it: it is stored apart from their circuits.
 */
import { checkNames, checkRange, invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { NAME_BYTES } from '../enqueue/fields.ts'
import { isStorable } from '../message/filter.ts'
import type { OperatorChange } from '../store/rows.ts'
import type { OutboxStore } from '../store/store.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from './operator.ts'

/** Options of `pause`. */
export interface PauseOptions extends OperatorOptions {
	/** How long, in milliseconds. Default: until `resume`. */
	readonly forMs?: number | undefined
}

/** Options of `resume`. */
export interface ResumeOptions extends OperatorOptions {
	/**
	 * Also closes an open circuit and ends a Retry-After, so that messages are sent immediately. Default false.
	 */
	readonly closeCircuit?: boolean | undefined
}

export class DestinationControl {
	readonly #store: OutboxStore
	readonly #onChanged: () => void

	/** `onChanged` is called after a change, to wake relays. */
	constructor(store: OutboxStore, onChanged: () => void) {
		this.#store = store
		this.#onChanged = onChanged
	}

	async pause(destination: string, options: PauseOptions): Promise<void> {
		checkNames(options, { ...OPERATOR_SCHEMA, forMs: 'any' }, 'pause')
		const { forMs = Infinity } = options
		if (forMs !== Infinity) checkRange('forMs', forMs, 1)
		await this.#change({ ...readChange(destination, options), action: 'pause', forMs })
	}

	async resume(destination: string, options: ResumeOptions): Promise<boolean> {
		checkNames(options, { ...OPERATOR_SCHEMA, closeCircuit: 'any' }, 'resume')
		const { closeCircuit = false } = options
		if (typeof closeCircuit !== 'boolean') invalidOption('closeCircuit', closeCircuit, 'a boolean')
		const change = readChange(destination, options)
		// Closed before the pause ends: otherwise a relay could probe in between.
		const isClosed = closeCircuit && (await this.#change({ ...change, action: 'close-circuit' }))
		return (await this.#change({ ...change, action: 'resume' })) || isClosed
	}

	async closeCircuit(destination: string, options: OperatorOptions): Promise<boolean> {
		checkNames(options, OPERATOR_SCHEMA, 'closeCircuit')
		return this.#change({ ...readChange(destination, options), action: 'close-circuit' })
	}

	async #change(change: OperatorChange): Promise<boolean> {
		const { isChanged } = await this.#store.changeByOperator(change)
		if (isChanged) this.#onChanged()
		return isChanged
	}
}

function readChange(destination: string, options: OperatorOptions) {
	if (!isStorable(destination) || Buffer.byteLength(destination) > NAME_BYTES)
		invalidArgument('destination', destination, `a name of at most ${NAME_BYTES} bytes`)
	return { destination, ...readOperator(options) }
}
