/** `yaoki simulate`. Its implementation is loaded when it runs, so help is fast. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { type Command, defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { rejectWithout } from '../parse-arguments.ts'
import { SIMULATE_OPTIONS, SIMULATE_POSITIONALS, type SimulateArguments } from './options.ts'

export const simulate: Command = defineCommand({
	examples: [
		['yaoki simulate herd', 'a thousand clients return after an outage, with five kinds of backoff'],
		[
			'yaoki simulate metastable --out metastable.svg',
			'which policies recover from a slowdown, as a heat map',
		],
		[
			'yaoki simulate my-service.ts --assert "recoveredAfterMs<=5000"',
			'your own service as a CI check: exit code 4 if a run recovers too late',
		],
		[
			'yaoki simulate my-service.json --tune --assert "amplification<=1.5"',
			'the smallest change to your policies that keeps every limit',
		],
		['yaoki simulate --incident events.jsonl', 'replay an incident with other policies'],
	],
	options: SIMULATE_OPTIONS,
	positionals: SIMULATE_POSITIONALS,
	async run(args, io) {
		checkCombinations(args, io.json)
		const seed = parseSeed(args.seed)
		if (args.list || (args.scenario === undefined && args.incident === undefined)) {
			const { listScenarios } = await import('./study-source.ts')
			return listScenarios(io)
		}
		if (args.tune) {
			const { runTune } = await import('./tune/run-tune.ts')
			return runTune({ ...args, seed }, io)
		}
		const { runStudy } = await import('./run-study.ts')
		return runStudy({ ...args, seed }, io)
	},
})

/** Rejects options that would be ignored silently. An assertion without a study must not pass. */
function checkCombinations(args: SimulateArguments, json: boolean): void {
	const { scenario, incident, out, assert, variant, service } = args
	if (scenario !== undefined && incident !== undefined)
		throw usageError(`Give either "${scenario}" or --incident, not both.`)
	if (args.timelines !== undefined && !json && !out.some((file) => file.toLowerCase().endsWith('.json')))
		throw usageError('--timelines requires --json or a .json file.')
	const { tune, tunePolicy, objective, maxSteps, sensitivity } = args
	if (!tune) rejectWithout('--tune', { tunePolicy, objective, maxSteps, sensitivity })
	else if (out.length > 0)
		throw usageError('--out cannot be combined with --tune. Use --json for the result as data.')
	if (incident !== undefined) return
	const needing = [...out, ...assert, ...variant, ...service, args.chart, args.timelines]
	if (scenario === undefined && (tune || needing.some((value) => value !== undefined)))
		throw usageError(`Missing argument NAME|FILE: ${SIMULATE_POSITIONALS.scenario.description}.`)
	const { policy, pipeline, workers, fromPolicy } = args
	rejectWithout('--incident', { policy, pipeline, workers, fromPolicy })
}

/** Any text is a seed, also `NaN`. An empty text is an unset variable of a script. */
function parseSeed(seed: string | undefined): number | string | undefined {
	if (seed === '') throw new InvalidOptionError('--seed', seed, 'a number or a text')
	return seed !== undefined && Number.isFinite(Number(seed)) && seed.trim() !== '' ? Number(seed) : seed
}
