/** All commands of `yaoki`. A line here loads nothing; it says where the command is. */
import type { Program } from './program.ts'
import { packageVersion } from './version.ts'

export const yaoki: Program = {
	name: 'yaoki',
	summary: 'Everything that happens after a call fails, from the command line.',
	examples: [
		{
			run: 'yaoki simulate metastable --out metastable.svg',
			shows: 'does it survive an outage? Try it in virtual time, and draw it',
		},
		{ run: 'yaoki help simulate', shows: 'what a command takes, with examples' },
	],
	commands: [
		{
			name: 'simulate',
			summary: 'runs policies against modelled services in virtual time',
			load: () => import('./simulate/command.ts'),
		},
	],
	version: packageVersion,
}
