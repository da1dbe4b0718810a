/** Makes this process see others as on another machine: it cannot know which have ended. */
export function seeNoEndedProcess(): void {
	const kill = process.kill.bind(process)
	process.kill = (pid, signal) => signal === 0 || kill(pid, signal)
}
