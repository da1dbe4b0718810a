/** The options that every command has. All of them are flags, so they may also stand before the command's name. */
import type { FlagOption } from './options.ts'

const flag = (does: string, short?: string): FlagOption => ({
	type: 'boolean',
	does,
	...(short !== undefined && { short }),
})

export const GLOBAL_OPTIONS: Readonly<Record<'help' | 'json' | 'quiet' | 'noColor' | 'debug', FlagOption>> = {
	help: flag('shows this', 'h'),
	json: flag('prints the answer as one JSON document'),
	quiet: flag('leaves out notes and progress', 'q'),
	noColor: flag('leaves out colours, as NO_COLOR does'),
	debug: flag('shows where an error happened, as DEBUG=yaoki does'),
}

/** What may stand where there is no command. */
export const PROGRAM_OPTIONS: Readonly<Record<keyof typeof GLOBAL_OPTIONS | 'version', FlagOption>> = {
	...GLOBAL_OPTIONS,
	version: flag('shows the version', 'v'),
}
