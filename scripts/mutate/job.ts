/** What `mutate` and the process of a test file write to each other, as files in one folder. */

/** What the process of a test file does. */
export type Job =
	/** Runs each test twice without a mutant, and reports which mutants it reaches. */
	| { readonly type: 'explore' }
	/** Runs each of these tests once with each of its mutants. A process for each mutant would take a hundred times as long. */
	| ({ readonly type: 'repeat'; readonly mutants: Readonly<Record<string, readonly number[]>> } & Costs)
	/** Runs all tests but some with one mutant, which is active from the first import. */
	| ({ readonly type: 'alone'; readonly mutant: number; readonly skipped: readonly string[] } & Costs)

/** What each test costs without a mutant. */
interface Costs {
	readonly costs: Readonly<Record<string, Cost>>
}

export interface Cost {
	/** Evaluations of mutated code. */
	readonly steps: number
	/** Time on the CPU. */
	readonly cpuMs: number
	/** Tenths of a second in which the event loop had time for a timer. */
	readonly ticks: number
}

export interface ExploredTest extends Cost {
	readonly id: string
	readonly name: string
	readonly reached: readonly number[]
	/** Whether the test passes without a mutant, and whether it passes again in the same process. */
	readonly passes: 'twice' | 'once' | 'never'
}

/** One line of the report of a test file. A process that dies leaves its last line. */
export type Entry =
	| {
			readonly type: 'explored'
			readonly outside: readonly number[]
			readonly tests: readonly ExploredTest[]
	  }
	| { readonly type: 'run'; readonly test: string; readonly mutant: number }
	| { readonly type: 'killed' | 'timeout' | 'suspect'; readonly mutant: number }
	| { readonly type: 'end' }
