/**
 * Message ids: UUIDs of version 7 (RFC 9562), which begin with the time, so that new rows are adjacent in an
 * index. Each id is greater than all earlier ids of this process: a counter of 26 bits follows the time and
 * starts at a random value in every millisecond. If the clock moves back, the latest time is kept; if the
 * counter overflows, the time advances by a millisecond.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

const COUNTER_END = 2 ** 26
const RANDOM_BYTES = 6
/** Random bytes are drawn for many ids together: a call costs the same for six bytes as for thousands. */
const IDS_PER_DRAW = 1_024

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const HEX_DIGITS = '0123456789abcdef'

export class UuidSource {
	readonly #runtime: Runtime
	readonly #counterEnd: number
	readonly #random = new Uint8Array(RANDOM_BYTES * IDS_PER_DRAW)
	#used = this.#random.length
	#time = -1
	/** The common prefix of all ids of the current millisecond. */
	#prefix = ''
	#counter = 0

	/** Tests pass a smaller `counterEnd`. */
	constructor(runtime: Runtime, counterEnd: number = COUNTER_END) {
		this.#runtime = runtime
		this.#counterEnd = counterEnd
	}

	next(): string {
		const now = Math.floor(this.#runtime.wallNow())
		if (now > this.#time) this.#startMillisecond(now)
		else if (++this.#counter === this.#counterEnd) this.#startMillisecond(this.#time + 1)
		const counter = this.#counter
		// Twelve bits after the version, fourteen after the variant.
		const high = counter >>> 14
		const start = `${this.#prefix}${HEX_DIGITS[high >>> 8]}${HEX[high & 0xff]}`
		return `${start}-${HEX[0x80 | ((counter >>> 8) & 0x3f)]}${HEX[counter & 0xff]}-${this.#randomTail()}`
	}

	#startMillisecond(time: number): void {
		this.#time = time
		// The start is in the lower half. The upper half remains for more ids of the same millisecond.
		this.#counter = this.#randomUint32() % (this.#counterEnd / 2)
		const hex = time.toString(16).padStart(12, '0')
		this.#prefix = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
	}

	#randomTail(): string {
		const at = this.#takeBytes()
		const bytes = this.#random
		const first = `${hexAt(bytes, at)}${hexAt(bytes, at + 1)}${hexAt(bytes, at + 2)}`
		return `${first}${hexAt(bytes, at + 3)}${hexAt(bytes, at + 4)}${hexAt(bytes, at + 5)}`
	}

	#randomUint32(): number {
		return new DataView(this.#random.buffer).getUint32(this.#takeBytes())
	}

	/** Returns the offset of six unused random bytes. */
	#takeBytes(): number {
		if (this.#used === this.#random.length) {
			// Loaded on first use: an import of node:crypto takes a sixth of the start of a process.
			process.getBuiltinModule('node:crypto').randomFillSync(this.#random)
			this.#used = 0
		}
		const at = this.#used
		this.#used += RANDOM_BYTES
		return at
	}
}

const hexAt = (bytes: Uint8Array, at: number): string | undefined => HEX[bytes[at] ?? 0]

const sources = new WeakMap<Runtime, UuidSource>()

/** All outboxes of a process with the same clock share one increasing sequence. */
export function uuidGenerator(runtime: Runtime): () => string {
	const source = sources.get(runtime) ?? new UuidSource(runtime)
	sources.set(runtime, source)
	return () => source.next()
}
