/**
 * Ids of messages: UUIDs of version 7 (RFC 9562), which begin with the time, so that new ones lie side by side in an index. Each is greater
 * than all before it in this process, by a counter of 26 bits behind the time that begins anew, by chance, in every millisecond. When
 * the clock jumps back the latest time goes on; when the counter is used up the time is a millisecond ahead.
 */
import { randomFillSync } from 'node:crypto'
import type { Runtime } from '../../core/runtime/runtime.ts'

const COUNTER_END = 2 ** 26
/** Bytes by chance of one id, and how many ids are provided for at once: asking for six bytes costs as much as for thousands. */
const CHANCE_BYTES = 6
const PROVIDED_IDS = 1_024

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Makes ids that only grow. */
export class UuidSource {
	readonly #runtime: Runtime
	readonly #counterEnd: number
	readonly #chance = new Uint8Array(CHANCE_BYTES * PROVIDED_IDS)
	#used = this.#chance.length
	#time = -1
	/** What all ids of the present millisecond begin with. */
	#start = ''
	#counter = 0

	/** Tests may give it a counter that ends sooner. */
	constructor(runtime: Runtime, counterEnd: number = COUNTER_END) {
		this.#runtime = runtime
		this.#counterEnd = counterEnd
	}

	next(): string {
		const now = Math.floor(this.#runtime.wallNow())
		if (now > this.#time) this.#begin(now)
		else if (++this.#counter === this.#counterEnd) this.#begin(this.#time + 1)
		const counter = this.#counter
		// Twelve bits behind the version, fourteen behind the variant.
		const high = counter >>> 14
		const start = `${this.#start}${HEX_DIGITS[high >>> 8]}${HEX[high & 0xff]}`
		return `${start}-${HEX[0x80 | ((counter >>> 8) & 0x3f)]}${HEX[counter & 0xff]}-${this.#tail()}`
	}

	#begin(time: number): void {
		this.#time = time
		// In its lower half: the other is for those that fall into the same millisecond.
		this.#counter = this.#draw() % (this.#counterEnd / 2)
		const hex = time.toString(16).padStart(12, '0')
		this.#start = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
	}

	#tail(): string {
		const at = this.#provide()
		const chance = this.#chance
		const first = `${hexAt(chance, at)}${hexAt(chance, at + 1)}${hexAt(chance, at + 2)}`
		return `${first}${hexAt(chance, at + 3)}${hexAt(chance, at + 4)}${hexAt(chance, at + 5)}`
	}

	/** A whole number of 32 bits. */
	#draw(): number {
		return new DataView(this.#chance.buffer).getUint32(this.#provide())
	}

	/** Where six bytes are that nobody has used. */
	#provide(): number {
		if (this.#used === this.#chance.length) {
			randomFillSync(this.#chance)
			this.#used = 0
		}
		const at = this.#used
		this.#used += CHANCE_BYTES
		return at
	}
}

const HEX_DIGITS = '0123456789abcdef'

const hexAt = (bytes: Uint8Array, at: number): string | undefined => HEX[bytes[at] ?? 0]

/** One for each clock: all outboxes of a process that go by the same one draw from the same ids. */
const sources = new WeakMap<Runtime, UuidSource>()

/** Answers the function that makes ids by this clock. */
export function uuidGenerator(runtime: Runtime): () => string {
	let source = sources.get(runtime)
	if (source === undefined) {
		source = new UuidSource(runtime)
		sources.set(runtime, source)
	}
	const kept = source
	return () => kept.next()
}
