/** `yaoki simulate`. Its place is taken; what it does is yet to be built. */
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'

export const command: Command = defineCommand({
	name: 'simulate',
	summary: 'runs policies against modelled services in virtual time',
	examples: [{ run: 'yaoki simulate metastable --seed 7', shows: 'the same run each time' }],
	options: {
		seed: { type: 'integer', short: 's', value: 'N', does: 'the seed of all chance', default: 1, least: 0 },
	},
	positionals: {
		scenario: { value: 'NAME|FILE', does: 'a scenario that is shipped, or a file of your own' },
	},
	async run() {
		throw new CliError('failure', 'not built yet')
	},
})
