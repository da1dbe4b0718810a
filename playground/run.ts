/**
 * Animates a run. Every animation frame advances the simulation to the virtual time that the animation has reached, but for at
 * most a part of the frame, so that the page stays responsive however expensive the scenario is.
 */
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { Simulation } from '../src/sim/run/simulation.ts'
import type { TimedScenario } from './scenario.ts'

const ANIMATION_MS = 1_600
/** The time budget of the simulation per frame, with and without animation. */
const FRAME_MS = 11
const NO_ANIMATION_FRAME_MS = 40
/** The virtual time between two checks of that budget. */
const SLICE_MS = 100

/** Called with the intermediate results, and with the final one. */
export type Watch = (result: SimulationResult, isDone: boolean) => void

/** Starts a run and returns a function that stops it. Without `animated`, `watch` gets only the final result. */
export function startRun(scenario: TimedScenario, animated: boolean, watch: Watch): () => void {
	const simulation = new Simulation(scenario)
	let startedAt: number | undefined
	let currentMs = 0
	let pending = 0

	const frame = (at: number): void => {
		startedAt ??= at
		const targetMs = animated ? ((at - startedAt) / ANIMATION_MS) * scenario.durationMs : scenario.durationMs
		const until = performance.now() + (animated ? FRAME_MS : NO_ANIMATION_FRAME_MS)
		let isDone = false
		while (!isDone && currentMs < targetMs && performance.now() < until) {
			currentMs = Math.min(currentMs + SLICE_MS, scenario.durationMs)
			isDone = simulation.advance(currentMs)
		}
		if (isDone || animated) watch(simulation.result(), isDone)
		if (!isDone) pending = requestAnimationFrame(frame)
	}
	pending = requestAnimationFrame(frame)
	return () => cancelAnimationFrame(pending)
}
