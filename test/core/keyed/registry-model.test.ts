import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Entry, Registry } from '../../../src/core/keyed/registry.ts'
import { numbered } from './numbered.ts'

describe('against a reference model, in any history', () => {
	interface Known {
		readonly value: string
		uses: number
		/** Which use was its latest, and when. */
		turn: number
		usedAt: number
	}
	interface Model {
		readonly known: Map<string, Known>
		readonly held: [key: string, known: Known, entry: Entry<string>][]
		maxKeys: number
		idleMs: number
		now: number
		turn: number
		made: number
	}
	interface Real {
		readonly registry: Registry<string>
		readonly make: (key: string) => string
	}

	const isIdle = ([, { uses }]: [string, Known]): boolean => !uses

	/** Forgets what has to go, one by one, by searching for the oldest. */
	function forget(model: Model): void {
		for (;;) {
			const [oldest] = [...model.known].filter(isIdle).sort(([, a], [, b]) => a.turn - b.turn)
			if (!oldest) return
			const [key, { usedAt }] = oldest
			if (model.known.size <= model.maxKeys && model.now - usedAt < model.idleMs) return
			model.known.delete(key)
		}
	}

	function use(model: Model, key: string): Known {
		forget(model)
		const known = model.known.get(key) ?? { value: `${key}#${++model.made}`, uses: 0, turn: 0, usedAt: 0 }
		model.known.set(key, known)
		known.uses++
		forget(model)
		return known
	}

	function letGo(model: Model, key: string, known: Known): void {
		if (--known.uses || model.known.get(key) !== known) return
		known.turn = ++model.turn
		known.usedAt = model.now
		forget(model)
	}

	function step(text: string, act: (model: Model, real: Real) => void): fc.Command<Model, Real> {
		return {
			check: () => true,
			toString: () => text,
			run(model, real) {
				act(model, real)
				const { registry } = real
				const listed = [...registry.entries()].map(({ key, value, uses }) => [key, value, uses])
				expect(listed).toEqual([...model.known].map(([key, { value, uses }]) => [key, value, uses]))
				expect([...registry.keys()]).toEqual([...model.known.keys()])
				expect(registry.size).toBe(model.known.size)
				// Too many only where all of them are in use.
				if (registry.size > model.maxKeys) expect([...model.known].filter(isIdle)).toEqual([])
			},
		}
	}

	const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
	const bounds = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom(0, 50, 200, Infinity))
	const commands = fc.commands(
		[
			keys.map((key) =>
				step(`get(${key})`, (model, { registry, make }) => {
					const known = use(model, key)
					letGo(model, key, known)
					expect(registry.get(key, model.now, make)).toBe(known.value)
				}),
			),
			keys.map((key) =>
				step(`hold(${key})`, (model, { registry, make }) => {
					const known = use(model, key)
					const entry = registry.acquire(key, model.now, make)
					expect(entry.value).toBe(known.value)
					model.held.push([key, known, entry])
				}),
			),
			fc.nat().map((pick) =>
				step(`release(${pick})`, (model, { registry }) => {
					for (const [key, known, entry] of model.held.splice(pick % (model.held.length || 1), 1)) {
						letGo(model, key, known)
						registry.release(entry, model.now)
					}
				}),
			),
			keys.map((key) =>
				step(`delete(${key})`, (model, { registry }) => {
					expect(registry.delete(key)).toBe(model.known.delete(key))
				}),
			),
			keys.map((key) =>
				step(`peek(${key})`, (model, { registry }) => {
					expect(registry.find(key)).toBe(model.known.get(key)?.value)
				}),
			),
			bounds.map(([maxKeys, idleMs]) =>
				step(`resize(${maxKeys}, ${idleMs})`, (model, { registry }) => {
					Object.assign(model, { maxKeys, idleMs })
					forget({ ...model, now: -Infinity })
					registry.resize(maxKeys, idleMs)
				}),
			),
			fc.integer({ min: 0, max: 120 }).map((ms) =>
				step(`wait(${ms})`, (model) => {
					model.now += ms
				}),
			),
		],
		{ maxCommands: 60, size: 'max' },
	)

	it('keeps the right keys, no more than allowed, and evicts none in use', () => {
		fc.assert(
			fc.property(bounds, commands, ([maxKeys, idleMs], history) => {
				fc.modelRun(
					() => ({
						model: { known: new Map(), held: [], maxKeys, idleMs, now: 0, turn: 0, made: 0 },
						real: { registry: new Registry<string>(maxKeys, idleMs), make: numbered() },
					}),
					history,
				)
			}),
			{ numRuns: 1_000 },
		)
	})
})
