/** Random histories of a pacer, and exact arithmetic to check them. */
import fc, { type Arbitrary, type Command } from 'fast-check'
import { expect } from 'vitest'
import type { Pacer } from '../../../src/core/rate-limiter/pacer.ts'
import { command } from '../structures/command.ts'

export interface ModelReservation {
	readonly arrival: number
	readonly start: number
	/** False after it was undone. */
	used: boolean
	/** Counts the settings: reservations with the same number were made under the same settings. */
	readonly settingsId: number
}

export interface PacerModel {
	now: number
	limit: number
	intervalMs: number
	burst: number
	settingsId: number
	/** Reservations that were not undone, in the order of their creation. */
	active: ModelReservation[]
	/**
	 * True if a pacer must know its latest reservation. After a later one was undone it need not, if that one did not wait or
	 * has the settings before an update.
	 */
	knowsLatest: boolean
	/** All reservations ever made. */
	all: ModelReservation[]
}

/** Runs after each step. */
export type Check = (model: PacerModel, pacer: Pacer) => void

export const createModel = (now: number, limit: number, intervalMs: number, burst: number): PacerModel => ({
	now,
	limit,
	intervalMs,
	burst,
	settingsId: 0,
	active: [],
	knowsLatest: false,
	all: [],
})

/** Converts a time to an integer without loss: a double that is not next to 0 has no bit below the 200th after the point. */
export const exact = (ms: number): bigint => BigInt(ms * 2 ** 200)

/** The resolution of a pacer. */
const tick = (ms: number): number => Math.ceil(ms * 1024)

/** Times next to 0 are rounded to 0: no clock returns them, and `exact` cannot represent them. */
const time = (max: number): Arbitrary<number> =>
	fc.double({ min: 0, max, noNaN: true }).map((ms) => (ms < 1e-9 ? 0 : ms))

export const clocks: Arbitrary<number> = fc.oneof(
	fc.constantFrom(0, 0.1, -7_200_000, 1.7e12),
	time(1e9),
	time(1e6).map((ms) => -ms),
)

export const settings: Arbitrary<readonly [limit: number, intervalMs: number, burst: number]> = fc.tuple(
	fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(3_000, 1_000_000)),
	fc.constantFrom(1, 7, 1_000, 3_600_000),
	fc.integer({ min: 1, max: 8 }),
)

export type Step = Arbitrary<Command<PacerModel, Pacer>>

export function take(model: PacerModel, pacer: Pacer): void {
	const { now, settingsId } = model
	const next = pacer.next(now)
	const available = pacer.available(now)
	expect(available > 0).toBe(next === now)
	const start = pacer.reserve(now)
	expect(start).toBe(next)
	expect(start).toBeGreaterThanOrEqual(now)
	expect(tick(start)).toBeGreaterThanOrEqual(tick(model.active.at(-1)?.start ?? now))
	const reservation = { arrival: now, start, used: true, settingsId }
	model.active.push(reservation)
	model.knowsLatest = true
	model.all.push(reservation)
}

/** The steps of a history; `check` runs after each of them. */
export function steps(check: Check): { base: Step[]; update: Step } {
	const step = (label: string, run: Check) =>
		command<PacerModel, Pacer>(label, (model, pacer) => {
			run(model, pacer)
			check(model, pacer)
		})
	const base: Step[] = [
		fc.integer({ min: 1, max: 6 }).map((count) =>
			step(`take ${count}`, (model, pacer) => {
				for (let i = 0; i < count; i++) take(model, pacer)
			}),
		),
		time(3).map((intervals) =>
			step(`wait ${intervals} intervals`, (model) => {
				model.now += intervals * model.intervalMs
			}),
		),
		fc.nat(5).map((places) =>
			step(`wait for ${places} at this pace`, (model) => {
				model.now += (places * model.intervalMs) / model.limit
			}),
		),
		fc.constant(
			step('wait until the next may start', (model, pacer) => {
				model.now = pacer.next(model.now)
				expect(pacer.next(model.now)).toBe(model.now)
			}),
		),
		fc.constant(
			step('wait until a epsilon before the next may start', (model, pacer) => {
				model.now = Math.max(model.now, pacer.next(model.now) - 0.0003)
			}),
		),
		fc.integer({ min: 1, max: 100 }).map((hours) =>
			step(`idle for ${hours} hours`, (model) => {
				model.now += hours * 3_600_000
			}),
		),
		fc.nat().map((which) =>
			step(`give back ${which}`, (model, pacer) => {
				const { active } = model
				const reservation = active[which % Math.max(1, active.length)]
				if (reservation) cancelReservation(model, pacer, reservation)
			}),
		),
		fc.constant(
			step('all waiting calls cancel, last come first', (model, pacer) => {
				for (const reservation of model.active.toReversed())
					if (reservation.start > model.now) cancelReservation(model, pacer, reservation)
			}),
		),
	]
	const update = settings.map(([limit, intervalMs, burst]) =>
		step(`update(${limit}, ${intervalMs}, ${burst})`, (model, pacer) => {
			Object.assign(model, { limit, intervalMs, burst, settingsId: model.settingsId + 1, knowsLatest: false })
			pacer.update(limit, intervalMs, burst, model.now)
		}),
	)
	return { base, update }
}

/** Only the latest reservation can be undone. Reservations in the same tick are interchangeable. */
function cancelReservation(model: PacerModel, pacer: Pacer, { start }: ModelReservation): void {
	const latest = model.active.at(-1)
	const isLatest = latest !== undefined && tick(latest.start) === tick(start)
	const isUndone = pacer.cancel(start, model.now)
	if (isUndone) expect(isLatest).toBe(true)
	else expect(isLatest && model.knowsLatest).toBe(false)
	if (!latest || !isUndone) return
	latest.used = false
	model.active.pop()
	const before = model.active.at(-1)
	model.knowsLatest =
		before !== undefined && before.settingsId === model.settingsId && before.start > model.now + 1e-3
}
