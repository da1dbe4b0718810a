/** `yaoki simulate`: what it takes. What it does is loaded when it is asked for, so that help does not wait for it. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import type { Arguments } from '../option-tables.ts'

const OPTIONS = {
	list: { type: 'boolean', short: 'l', description: 'lists the scenarios that come with the package' },
	out: {
		type: 'string',
		short: 'o',
		placeholder: 'FILE',
		multiple: true,
		description: 'also writes it to a file that ends in .svg, .html or .json',
	},
	assert: {
		type: 'string',
		short: 'a',
		placeholder: 'CHECK',
		multiple: true,
		description: "must hold in every run, or the exit code is 4: 'p99Ms<500', 'VARIANT: amplification<1.2'",
	},
	variant: { type: 'string', placeholder: 'NAME', multiple: true, description: 'runs only this variant' },
	seed: {
		type: 'string',
		short: 's',
		placeholder: 'SEED',
		description: 'the first seed, a number or a text',
	},
	replications: {
		type: 'integer',
		short: 'n',
		placeholder: 'N',
		min: 1,
		max: 1e6,
		description: 'runs of each variant, each with the next seed',
	},
	maxEvents: {
		type: 'integer',
		placeholder: 'N',
		min: 1,
		description: 'ends a run that comes to so many events',
	},
	workers: {
		type: 'integer',
		short: 'w',
		placeholder: 'N',
		min: 1,
		max: 512,
		description: 'threads; as many as cores',
	},
	incident: {
		type: 'string',
		short: 'i',
		placeholder: 'FILE',
		description: 'replays events that were written as JSON lines',
	},
	policy: {
		type: 'string',
		placeholder: 'FILE',
		description: 'with --incident: the policy to try, .json, .js or .ts',
	},
	pipeline: {
		type: 'string',
		placeholder: 'NAME',
		description: 'with --incident: reads the events of this pipeline',
	},
	toldBy: {
		type: 'string',
		placeholder: 'NAME',
		multiple: true,
		description: 'with --incident: reads the events of this policy',
	},
	capacity: {
		type: 'integer',
		placeholder: 'N',
		min: 1,
		description: 'with --incident: how many requests the service works on at once',
	},
} as const

const POSITIONALS = {
	scenario: {
		placeholder: 'NAME|FILE',
		description:
			'a scenario that comes with the package, or a file of your own: .json, .js or .ts; without it they are listed',
		optional: true,
	},
} as const

type Asked = Arguments<typeof OPTIONS, typeof POSITIONALS>

export const command: Command = defineCommand({
	examples: [
		{
			command: 'yaoki simulate herd',
			description: 'a thousand clients come back after an outage, five ways',
		},
		{
			command: 'yaoki simulate metastable --out metastable.svg',
			description: 'what survives an outage and what does not, as a map',
		},
		{
			command: 'yaoki simulate my-service.ts --assert "recoveredAfterMs<=5000"',
			description: 'your own service, as a check: exit code 4 if one run takes longer',
		},
		{
			command: 'yaoki simulate --incident events.jsonl',
			description: 'what last night would have been with another policy',
		},
	],
	options: OPTIONS,
	positionals: POSITIONALS,
	async run(asked, io) {
		refuseWhatDoesNotFit(asked)
		const seed = seedOf(asked.seed)
		if (asked.list || (asked.scenario === undefined && asked.incident === undefined)) {
			const { listScenarios } = await import('./list.ts')
			await listScenarios(io)
			return 'ok'
		}
		const { runStudy } = await import('./study-run.ts')
		return runStudy({ ...asked, seed }, io)
	},
})

/** What would otherwise be left out in silence. A check that names nothing to check must not pass. */
function refuseWhatDoesNotFit(asked: Asked): void {
	const usage = (message: string) => new CliError('usage', message)
	const { scenario, incident, out, assert, variant } = asked
	if (scenario !== undefined && incident !== undefined)
		throw usage(`--incident stands in place of '${scenario}'; give one of them`)
	if (scenario === undefined && incident === undefined && out.length + assert.length + variant.length > 0)
		throw usage(`NAME|FILE is missing: ${POSITIONALS.scenario.description}`)
	const alone = (['policy', 'pipeline', 'capacity'] as const).find((name) => asked[name] !== undefined)
	const lonely = alone ?? (asked.toldBy.length > 0 ? 'told-by' : undefined)
	if (incident === undefined && lonely !== undefined) throw usage(`--${lonely} goes with --incident`)
}

/** A text is a seed like any other, `NaN` as well; but an empty one is a variable of a script that was not set. */
function seedOf(text: string | undefined): number | string | undefined {
	if (text === '') throw new CliError('usage', "--seed: got ''; takes a number or a text")
	return text !== undefined && Number.isFinite(Number(text)) && text.trim() !== '' ? Number(text) : text
}
