/** Returns a function that calls all of these, each once. */
export const combineEnds = (ends: (() => void)[]) => (): void => {
	for (const end of ends.splice(0)) end()
}
