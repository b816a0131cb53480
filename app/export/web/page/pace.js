// The page: the size of a camera's pictures, which follows the speed of the GPU.

const SIDES = [256, 384, 512, 640, 768, 960]; // pixels of the long side
const WINDOW_MS = 2000;
const FAST = 45; // frames a second that let the next larger size be fluent
const SLOW = 15;

class Pace {
  constructor() {
    this.side = 1;
    this.most = SIDES.length - 1;
    this.start();
  }

  get longest() {
    return SIDES[this.side];
  }

  start() {
    this.frames = [];
    this.since = performance.now();
  }

  // Counts a frame; returns the frames per second, 0 if there are too few.
  count() {
    const now = performance.now();
    this.frames = [...this.frames.filter((at) => now - at < WINDOW_MS), now];
    const { length } = this.frames;
    const rate = length > 1 ? (1000 * (length - 1)) / (now - this.frames[0]) : 0;
    if (now - this.since > WINDOW_MS && length > 1) this.adapt(rate);
    return rate;
  }

  adapt(rate) {
    if (rate < SLOW && this.side > 0) {
      this.side -= 1;
      this.most = this.side; // or the size would go up and down for ever
    } else if (rate > FAST && this.side < this.most) {
      this.side += 1;
    } else {
      return;
    }
    this.start();
  }
}

const pace = new Pace();
