/**
 * One run that is watched while it happens. The simulator is let on a little further in every frame, as far as virtual time has come
 * at its pace and no longer than a frame can spare, so that the page stays quick however much there is to do.
 */
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { Simulation } from '../src/sim/run/simulation.ts'
import type { TimedScenario } from './scenario.ts'

/** How long a whole run is shown for. */
const SHOWN_MS = 1_600
/** What the simulator may take of a frame: most of one that is drawn, and several of those that are not. */
const FRAME_MS = 11
const UNDRAWN_MS = 40
/** Virtual time between two looks at the clock on the wall. */
const SLICE_MS = 100

/** Told how far a run has come, and at last that it is over. */
export type Watch = (result: SimulationResult, isOver: boolean) => void

/** Begins a run, and gives back what ends it early. Without `animated`, only its end is told. */
export function startRun(scenario: TimedScenario, animated: boolean, watch: Watch): () => void {
	const simulation = new Simulation(scenario)
	let begunAt: number | undefined
	let reachedMs = 0
	let pending = 0

	const frame = (at: number): void => {
		begunAt ??= at
		const wantedMs = animated ? ((at - begunAt) / SHOWN_MS) * scenario.duration : scenario.duration
		const until = performance.now() + (animated ? FRAME_MS : UNDRAWN_MS)
		let isOver = false
		while (!isOver && reachedMs < wantedMs && performance.now() < until) {
			reachedMs = Math.min(reachedMs + SLICE_MS, scenario.duration)
			isOver = simulation.advance(reachedMs)
		}
		if (isOver || animated) watch(simulation.result(), isOver)
		if (!isOver) pending = requestAnimationFrame(frame)
	}
	pending = requestAnimationFrame(frame)
	return () => cancelAnimationFrame(pending)
}
