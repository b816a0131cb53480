// The page: its sources. A lake until the visitor gives a photo or the camera.

const LONGEST_PHOTO = 1024; // pixels of the long side in the network
const LEAST = 16;
const SCENE = { name: "scene", words: "A lake with a boat" };
const PHOTO = { name: "photo", words: "Your photo" };
const CAMERA = { name: "camera", words: "Your webcam" };

const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true });
const given = document.createElement("canvas");
const scaled = given.getContext("2d", { willReadFrequently: true });
let photo = null; // an ImageBitmap

function kindOfSource() {
  if (video.srcObject) return CAMERA;
  return photo ? PHOTO : SCENE;
}

function fitted(width, height, longest) {
  const scale = Math.min(1, longest / Math.max(width, height));
  return [width, height].map((side) => Math.max(LEAST, Math.round(side * scale)));
}

// Draws the photo or the camera's picture on `given`; returns its pixels as an ImageData.
function taken(kind) {
  const streams = kind === CAMERA;
  const real = streams ? [video.videoWidth, video.videoHeight] : [photo.width, photo.height];
  const [width, height] = fitted(...real, streams ? pace.longest : LONGEST_PHOTO);
  Object.assign(given, { width, height });
  if (streams && facesVisitor()) scaled.setTransform(-1, 0, 0, 1, width, 0); // a mirror
  scaled.drawImage(streams ? video : photo, 0, 0, width, height);
  return scaled.getImageData(0, 0, width, height);
}

// Returns an image that can be drawn, of a file beside the page.
async function loaded(name) {
  const image = Object.assign(new Image(), { src: name });
  await image.decode().catch(() => {
    throw new Error(`${name} could not be loaded.`);
  });
  return image;
}

function facesVisitor() {
  return video.srcObject.getVideoTracks()[0]?.getSettings().facingMode !== "environment";
}

const REFUSED = {
  NotFoundError: "No camera was found. You can paint a photo.",
  NotAllowedError: "This page may not use the camera. The browser's settings for this site allow it.",
  NotReadableError: "The camera is in use by another program.",
};

// Starts the camera. Raises an Error with a sentence for the visitor.
async function openCamera() {
  if (!navigator.mediaDevices) throw new Error("Browsers give pages the camera over https only.");
  try {
    const wanted = { video: { width: 1280, height: 720 }, audio: false };
    video.srcObject = await navigator.mediaDevices.getUserMedia(wanted);
    await video.play();
  } catch (error) {
    closeCamera();
    throw new Error(REFUSED[error.name] ?? `The camera could not be used: ${error.message}`);
  }
}

function closeCamera() {
  for (const track of video.srcObject?.getTracks() ?? []) track.stop();
  video.srcObject = null;
}
