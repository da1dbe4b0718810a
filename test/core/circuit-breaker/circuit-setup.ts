import type { CircuitBreakerStats } from '../../../src/core/circuit-breaker/circuit.ts'
import { Circuit } from '../../../src/core/circuit-breaker/circuit.ts'
import { isolate } from '../../../src/core/circuit-breaker/isolation.ts'
import {
	type CircuitBreakerOptions,
	readCircuitBreakerOptions,
} from '../../../src/core/circuit-breaker/options.ts'
import {
	type CircuitSnapshot,
	restoreSnapshot,
	takeSnapshot,
} from '../../../src/core/circuit-breaker/snapshot.ts'

const WALL = 1_750_000_000_000

/** A circuit, a clock that moves only when advanced, and the list of state changes. */
export class TestCircuit {
	now = 5_000
	/** The next random number. */
	draw = 0.5
	readonly circuit: Circuit
	readonly changes: string[] = []
	readonly #random = { random: (): number => this.draw }

	constructor(options: CircuitBreakerOptions = {}) {
		this.circuit = new Circuit(readCircuitBreakerOptions(options))
		this.circuit.listener = {
			onChange: (from, to) => {
				this.changes.push(`${from} -> ${to}`)
			},
		}
	}

	get stats(): CircuitBreakerStats {
		return this.circuit.stats(this.now, this.#random)
	}

	/** Moves the clock. */
	pass(ms: number): this {
		this.now += ms
		return this
	}

	/** A ticket, or -1. */
	admit(): number {
		return this.circuit.admit(this.now, this.#random)
	}

	succeed(ticket: number = this.admit(), durationMs = 0): this {
		this.circuit.succeed(ticket, this.now, durationMs, this.#random)
		return this
	}

	fail(ticket: number = this.admit(), retryAfterMs?: number, durationMs = 0, error?: unknown): this {
		this.circuit.fail(ticket, this.now, durationMs, retryAfterMs, this.#random, error)
		return this
	}

	ignore(ticket: number): this {
		this.circuit.ignore(ticket, this.now, this.#random)
		return this
	}

	isolate(): () => void {
		return isolate(this.circuit, this.now, this.#random)
	}

	/** A call for each letter: s(uccess), f(ailure), S and F the same but taking a second. */
	calls(letters: string): this {
		for (const letter of letters) {
			const durationMs = letter === letter.toUpperCase() ? 1_000 : 0
			if (letter.toLowerCase() === 's') this.succeed(this.admit(), durationMs)
			else this.fail(this.admit(), undefined, durationMs)
		}
		return this
	}

	update(options: CircuitBreakerOptions): this {
		this.circuit.update(readCircuitBreakerOptions(options), this.now, this.#random)
		return this
	}

	/** As it comes back from a file. */
	snapshot(): CircuitSnapshot {
		return JSON.parse(JSON.stringify(takeSnapshot(this.circuit, this.now, WALL, this.#random)))
	}

	/** Takes over what was written `wallMs` ago by the wall clock. */
	restore(snapshot: CircuitSnapshot, wallMs = 0): this {
		restoreSnapshot(this.circuit, snapshot, this.now, WALL + wallMs)
		return this
	}
}

export const setup = (options?: CircuitBreakerOptions): TestCircuit => new TestCircuit(options)
